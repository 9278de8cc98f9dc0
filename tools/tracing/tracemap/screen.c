// SPDX-License-Identifier: GPL-2.0
/*
 * Draw a full-screen picture on the terminal, and read keys.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "screen.h"
#include "write_all.h"

#define ENTER	"\033[?1049h\033[?25l\033[2J"	/* other screen, no cursor */
#define LEAVE	SCREEN_PLAIN "\033[?25h\033[?1049l"

/* There is one terminal, and a function called by exit() has no argument. */
static struct {
	struct termios before;
	bool keys;	/* standard input is a terminal, too, and was changed */
	bool open;
} terminal;

static int put(const char *text, size_t len)
{
	return write_all(STDOUT_FILENO, text, len);
}

/* Keys come at once and are not shown; Ctrl-C is still a signal, Ctrl-Z is none. */
static void take_keys(void)
{
	struct termios raw;

	terminal.keys = !tcgetattr(STDIN_FILENO, &terminal.before);
	if (!terminal.keys)
		return;
	raw = terminal.before;
	raw.c_lflag &= ~(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

void screen_close(void)
{
	if (!terminal.open)
		return;
	terminal.open = false;
	put(LEAVE, strlen(LEAVE));
	if (terminal.keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal.before);
}

/* A serial console does not know its size, which is the usual one then. */
void screen_measure(struct screen *s)
{
	struct winsize ws = { 0 };

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
	s->rows = ws.ws_row ? ws.ws_row : 24;
	s->cols = ws.ws_col ? ws.ws_col : 80;
}

bool screen_is_there(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(term && !strcmp(term, "dumb"));
}

int screen_open(struct screen *s)
{
	memset(s, 0, sizeof(*s));
	atexit(screen_close);
	terminal.open = true;
	take_keys();
	return put(ENTER, strlen(ENTER));
}

FILE *screen_begin(struct screen *s)
{
	s->row = 0;
	s->out = open_memstream(&s->line, &s->line_size);
	s->picture = open_memstream(&s->text, &s->size);
	if (s->out && s->picture) {
		fputs("\033[H\033[K", s->picture);
		return s->out;
	}
	screen_show(s);
	return NULL;
}

int screen_rows_left(const struct screen *s)
{
	return s->rows - s->row;
}

/* Cut the line at the last column; escape sequences and further bytes of UTF-8 take none. */
static void put_clipped(struct screen *s, const char *line, size_t len)
{
	bool sequence = false;
	int room = s->cols;

	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\033')
			sequence = true;
		else if (!sequence && (line[i] & 0xc0) != 0x80)
			room--;
		if (!sequence && room < 0)
			continue;
		fputc(line[i], s->picture);
		if (sequence && line[i] == 'm')
			sequence = false;
	}
}

void screen_line_end(struct screen *s)
{
	long len = ftell(s->out);

	fflush(s->out);
	if (len > 0)
		put_clipped(s, s->line, len);
	rewind(s->out);
	fputs(SCREEN_PLAIN, s->picture);
	/*
	 * No newline after the last row, as the terminal would scroll. Clear a line
	 * before it is written: after a full one the cursor is on its last column.
	 */
	if (++s->row < s->rows)
		fputs("\r\n\033[K", s->picture);
}

int screen_show(struct screen *s)
{
	int ret = -ENOMEM;

	if (s->picture && s->row < s->rows)
		fputs("\033[J", s->picture);
	if (s->picture && !fclose(s->picture) && s->out)
		ret = put(s->text, s->size);
	if (s->out)
		fclose(s->out);
	free(s->line);
	free(s->text);
	s->line = NULL;
	s->text = NULL;
	return ret;
}

static int named_key(const char *sequence)
{
	static const struct {
		const char *sequence;
		int key;
	} keys[] = {
		{ "[A", KEY_UP }, { "[B", KEY_DOWN }, { "OA", KEY_UP }, { "OB", KEY_DOWN },
		{ "[5~", KEY_PAGE_UP }, { "[6~", KEY_PAGE_DOWN },
		{ "[H", KEY_HOME }, { "[F", KEY_END }, { "[1~", KEY_HOME }, { "[4~", KEY_END },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!strcmp(sequence, keys[i].sequence))
			return keys[i].key;
	}
	return KEY_NONE;
}

/* Read the rest of an escape sequence, up to its first letter or '~'. */
static int read_sequence(void)
{
	char text[8];
	size_t len = 0;

	while (len < sizeof(text) - 1 && read(STDIN_FILENO, text + len, 1) == 1) {
		char c = text[len++];

		if (len > 1 && (c == '~' || (c >= 'A' && c <= 'Z')))
			break;
	}
	text[len] = '\0';
	return named_key(text);
}

int screen_key(void)
{
	unsigned char c;
	ssize_t n;

	if (!terminal.keys)
		return -ENODATA;
	n = read(STDIN_FILENO, &c, 1);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? KEY_NONE : -ENODATA;
	if (!n)
		return -ENODATA;	/* it was ready, and has nothing: hung up */
	return c == '\033' ? read_sequence() : c;
}
