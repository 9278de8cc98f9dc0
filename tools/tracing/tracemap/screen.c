// SPDX-License-Identifier: GPL-2.0
/*
 * Draw a full-screen picture on the terminal, and read keys.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "screen.h"
#include "write_all.h"

#define ENTER	"\033[?1049h\033[?25l\033[2J"	/* other screen, no cursor */
#define LEAVE	"\033[0m\033[?25h\033[?1049l"

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

/* Keys come at once and are not shown; Ctrl-C and Ctrl-Z are still signals. */
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
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static int enter(void)
{
	terminal.open = true;
	take_keys();
	return put(ENTER, strlen(ENTER));
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

/* A serial console does not know its size: take that of the environment, or the usual one. */
static int size_of(int told, const char *variable, int usual)
{
	const char *text = getenv(variable);

	if (!told && text)
		told = atoi(text);
	return told > 0 ? told : usual;
}

/* Get the size again, and clear the screen, on which there may be other text. */
static void renew(struct screen *s)
{
	struct winsize ws = { 0 };

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
	s->rows = size_of(ws.ws_row, "LINES", 24);
	s->cols = size_of(ws.ws_col, "COLUMNS", 80);
	put("\033[2J", 4);
}

bool screen_is_there(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(term && !strcmp(term, "dumb"));
}

static int open_signals(struct screen *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGCONT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return s->signals < 0 ? -errno : 0;
}

int screen_open(struct screen *s)
{
	const char *no_color = getenv("NO_COLOR");
	int ret;

	memset(s, 0, sizeof(*s));
	s->signals = -1;
	if (!isatty(STDOUT_FILENO))
		return -ENOTTY;
	s->colours = !no_color || !*no_color;
	atexit(screen_close);
	ret = open_signals(s);
	if (!ret)
		ret = enter();
	if (!ret)
		renew(s);
	return ret;
}

/* Give the terminal back to the shell, stop, and take it again when the program goes on. */
static void stop(struct screen *s)
{
	sigset_t stop;

	screen_close();
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	/* The signal is blocked up to here; here the program stops. */
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	enter();
	renew(s);
}

void screen_take_signals(struct screen *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP)
			stop(s);
		else
			renew(s);
	}
}

const char *const screen_help[] = {
	"arrows, space, page keys, Home, End    scroll",
	"Ctrl-L       draw everything anew",
	"Ctrl-Z       stop, and give the terminal back",
	"?            this help; any key leaves it",
	"q, Ctrl-C    quit",
	"",
	NULL
};

void screen_scroll(struct screen *s, int key, int *from)
{
	int page = s->rows - 3;

	switch (key) {
	case 'L' & 0x1f:	/* Ctrl-L */
		renew(s);
		break;
	case 'k':
	case KEY_UP:
		--*from;
		break;
	case 'j':
	case KEY_DOWN:
		++*from;
		break;
	case KEY_PAGE_UP:
		*from -= page;
		break;
	case ' ':
	case KEY_PAGE_DOWN:
		*from += page;
		break;
	case KEY_HOME:
		*from = 0;
		break;
	case KEY_END:
		*from = INT_MAX / 2;
		break;
	}
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
	fputs("\033[0m", s->picture);
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

void screen_colour(struct screen *s, enum screen_colour colour)
{
	static const char *const sequences[] = {
		[COLOUR_NONE]	 = "\033[0m",
		[COLOUR_BOLD]	 = "\033[1m",
		[COLOUR_REVERSE] = "\033[7m",
		[COLOUR_RED]	 = "\033[31m",
		[COLOUR_GREEN]	 = "\033[32m",
		[COLOUR_YELLOW]	 = "\033[33m",
	};

	/* NO_COLOR is about colours: bold and reverse stay. */
	if (s->colours || colour <= COLOUR_REVERSE)
		fputs(sequences[colour], s->out);
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
	return len ? named_key(text) : KEY_ESCAPE;
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
