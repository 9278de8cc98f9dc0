/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A full-screen picture on the terminal, and its keys.
 *
 * Plain escape sequences that every terminal of today knows, rather than
 * ncurses: a picture that is drawn anew each time needs nothing of what that
 * is good at, and the command runs where there is no terminfo, in an initrd.
 *
 * The terminal is put back at the end of the program, however it comes about
 * through exit(), and by whoever calls screen_close().
 */
#ifndef _TRACEMAP_SCREEN_H
#define _TRACEMAP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum screen_key {
	KEY_NONE	= 0,	/* or a character */
	KEY_UP		= 0x100,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
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

	/* private: */
	FILE *out;		/* the line that is being written */
	char *line;
	size_t line_size;
	FILE *picture;
	char *text;
	size_t size;
	int row;
};

/* Negative errno: standard output is no terminal, or it cannot be set up. */
int screen_open(struct screen *s);
void screen_close(void);

/* The terminal is the shell's again, the program stops, and then goes on. */
void screen_stop(struct screen *s);

/* Has the size changed, and is somebody else's text on it? Then start from nothing. */
void screen_renew(struct screen *s);

/*
 * A picture: begin it, write lines to the stream that returns, each ended by
 * screen_line_end(), show it. Lines that do not fit are cut off.
 */
FILE *screen_begin(struct screen *s);
void screen_line_end(struct screen *s);
int screen_rows_left(const struct screen *s);
int screen_show(struct screen *s);

/* From here to the end of the line, or to the next of it. Nothing with NO_COLOR. */
void screen_colour(struct screen *s, enum screen_colour colour);

/* A key that was pressed, KEY_NONE: there is none, -ENODATA: there will be none. */
int screen_key(void);

#endif /* _TRACEMAP_SCREEN_H */
