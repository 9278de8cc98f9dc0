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
	KEY_ESCAPE,
};

enum screen_colour {
	COLOUR_NONE,
	COLOUR_BOLD,
	COLOUR_REVERSE,
	COLOUR_RED,
	COLOUR_GREEN,
	COLOUR_YELLOW,
};

struct screen {
	int rows;
	int cols;
	bool colours;
	int signals;		/* a descriptor to wait for */

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

/*
 * Returns a negative errno if standard output is not a terminal, or cannot be set up. From
 * then on the signals that concern the screen are blocked, and make @signals readable.
 */
int screen_open(struct screen *s);
void screen_close(void);

/* Do what the signals at @signals ask for: stop and go on as the shell says, or redraw. */
void screen_take_signals(struct screen *s);

/* Lines of help on the keys that every screen has, and a blank one; the last is NULL. */
extern const char *const screen_help[];

/* Handle a key that scrolls or redraws. @from is how many rows are scrolled away. */
void screen_scroll(struct screen *s, int key, int *from);

/*
 * Draw a picture: screen_begin() returns a stream, to which the caller writes lines and ends
 * each by screen_line_end(). screen_show() shows it. What does not fit is cut off.
 */
FILE *screen_begin(struct screen *s);
void screen_line_end(struct screen *s);
int screen_rows_left(const struct screen *s);
int screen_show(struct screen *s);

/* Set the colour up to the next one, or to the end of the line; not with NO_COLOR. */
void screen_colour(struct screen *s, enum screen_colour colour);

/* Returns a key that was pressed, KEY_NONE if none was, -ENODATA if none can come any more. */
int screen_key(void);

#endif /* _TRACEMAP_SCREEN_H */
