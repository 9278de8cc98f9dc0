/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Draw a full-screen picture on the terminal, and read keys.
 *
 * This uses escape sequences that every present-day terminal knows. ncurses would save output
 * by drawing only what has changed, which is not needed here, and it needs terminfo, which an
 * initrd does not have.
 *
 * screen_close() restores the terminal. exit() calls it, too.
 */
#ifndef _TRACEMAP_SCREEN_H
#define _TRACEMAP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum screen_key {
	KEY_NONE	= 0,	/* below KEY_UP a key is its character */
	KEY_UP		= 0x100,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
};

/* How what follows is shown, up to the next one, or to the end of the line */
#define SCREEN_PLAIN	"\033[0m"
#define SCREEN_BOLD	"\033[1m"
#define SCREEN_REVERSE	"\033[7m"

struct screen {
	int rows;
	int cols;

	/* private: */
	FILE *out;		/* writes to @line, the present line */
	char *line;
	size_t line_size;
	FILE *picture;
	char *text;
	size_t size;
	int row;
};

/* Whether standard output is a terminal that can show a picture. */
bool screen_is_there(void);

/* Returns 0 or a negative errno. */
int screen_open(struct screen *s);
void screen_close(void);

/* Get the size, which may be another one at each picture. */
void screen_measure(struct screen *s);

/*
 * Draw a picture: screen_begin() returns a stream, to which the caller writes lines and ends
 * each by screen_line_end(). screen_show() shows it. What does not fit is cut off.
 */
FILE *screen_begin(struct screen *s);
void screen_line_end(struct screen *s);
int screen_rows_left(const struct screen *s);
int screen_show(struct screen *s);

/* Returns a key that was pressed, KEY_NONE if none was, -ENODATA if none can come any more. */
int screen_key(void);

#endif /* _TRACEMAP_SCREEN_H */
