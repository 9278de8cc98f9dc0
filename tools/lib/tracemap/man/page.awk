# SPDX-License-Identifier: LGPL-2.1
#
# awk -f page.awk HEADER... PAGE: make a manual page out of PAGE, which has what is
# written for people, and of the kernel-doc comments of the headers.
#
# A line ".doc NAME" of PAGE stands for what a header says about this function, or
# "struct NAME", or "enum NAME". Of the functions NAME, SYNOPSIS, RETURN VALUE and
# ERRORS are made, too. In a comment, "* -EXXX - text" below "Return:" is an error.

# What begins with "@name:", "Return:" or "* -EXXX -" goes up to an empty line.
function add_doc(line,	dash)
{
	if (name == "") {
		dash = index(line, " - ")
		name = substr(line, 1, dash - 1)
		header[name] = FILENAME
		key = name SUBSEP "brief"
		line = toupper(substr(line, dash + 3, 1)) substr(line, dash + 4) "."
	} else if (match(line, /^@[A-Za-z_.]+:/)) {
		param[name, ++nr_params[name]] = substr(line, 2, RLENGTH - 2)
		key = name SUBSEP substr(line, 1, RLENGTH - 1)
		sub(/^[^:]*:/, "", line)
	} else if (sub(/^Return:/, "", line)) {
		key = name SUBSEP "return"
	} else if (match(line, /^\* -E.* - /)) {
		error[name, ++nr_errors[name]] = substr(line, 3, RLENGTH - 5)
		key = name SUBSEP nr_errors[name]
		line = substr(line, RLENGTH + 1)
	} else if (line == "") {
		key = name SUBSEP "text"
		line = "\n"
	}
	sub(/^[ \t]+/, "", line)
	doc[key] = doc[key] (doc[key] ~ /^$|\n$/ ? "" : " ") line
}

# Of a function keep its declaration, of a structure that of each member.
function add_code(line,	member)
{
	gsub(/\/\*.*\*\//, "", line)
	gsub(/[ \t]+/, " ", line)
	if (name !~ / /) {
		in_code = line !~ /[;{]/
		code[name] = code[name] line
		gsub(/^ ?(static )?((__always_)?inline )?| __attribute__.*| *[;{].*/, "", code[name])
	} else if (match(line, /\(\*[a-z_]+|[a-z_]+;$/)) {
		member = substr(line, RSTART, RLENGTH)
		gsub(/[^a-z_]/, "", member)
		code[name, member] = substr(line, 2, length(line) - 2)
	}
}

FILENAME !~ /\.3$/ && $0 == "/**" { in_doc = 1; name = ""; next }
in_doc && /^ \*\// { in_doc = 0; in_code = 1; next }
in_doc { sub(/^ \* ?/, ""); add_doc($0); next }
/^}/ { in_code = 0 }
in_code { add_code($0) }

function bold(text) { return "\\fB" text "\\fP" }
function italic(text) { return "\\fI" text "\\fP" }

# The form of a word shows what it is, but for the name of a structure.
function mark(word, before,	lead, core)
{
	match(word, /^[("']*/)
	lead = substr(word, 1, RLENGTH)
	word = substr(word, RLENGTH + 1)
	if (match(word, /^@[a-z_]+(->[a-z_]+)*/)) {
		core = italic(substr(word, 2, RLENGTH - 1))
	} else if (match(word, /^[a-z_0-9]+\(/)) {
		core = substr(word, 1, RLENGTH - 1)
		core = bold(core) ((core in code) && !(core in here) ? "(3" : "(")
	} else if (match(word, /^(-?E[A-Z0-9][A-Z0-9][A-Z0-9]+|[A-Z]+_[A-Z_]*[A-Z])/)) {
		core = bold(substr(word, 1, RLENGTH))
	} else if (match(word, /^[A-Za-z0-9_.\/]*[\/_][A-Za-z0-9_.\/]*[A-Za-z0-9_\/]/)) {
		core = substr(word, 1, RLENGTH)
		core = before ~ /struct$/ ? bold(core) : italic(core)
	} else {
		sub(/^-/, "\\-", word)
		return lead word
	}
	gsub(/-/, "\\-", core)
	return lead "\\%" core substr(word, RLENGTH + 1)
}

# A sentence begins a line.
function fill(text,	words, n, i, line, word)
{
	n = split(text, words, " ")
	for (i = 1; i <= n; i++) {
		word = mark(words[i], words[i - 1])
		if (length(line " " word) > 78 ||
		    (line ~ /[.?!]\)?$/ && words[i] ~ /^["(]*[A-Z]|^@|\(\)/)) {
			print line
			line = ""
		}
		line = line (line != "" ? " " : word ~ /^[.']/ ? "\\&" : "") word
	}
	print line
}

function item(tag, text)
{
	print ".TP\n" tag
	fill(text)
}

# The name of what is declared is in italics.
function declared(text,	from, declarator)
{
	from = match(text, /\(\*[a-z_]+/) ? RSTART : match(text, /[ *][a-z_]+\)*$/)
	declarator = substr(text, from)
	if (from)
		sub(/[a-z_]+/, "\\fI&\\fB", declarator)
	return bold(substr(text, 1, from - 1) declarator)
}

# What was said of an argument of this name is not said again.
function document(name,	i, n, p, tag, text, parts)
{
	if (!(name in header)) {
		print FILENAME ": no header has a comment about " name >"/dev/stderr"
		exit 1
	}
	print ".SS " name (name ~ / / ? "" : "()")
	fill(doc[name, "brief"])
	for (i = 1; i <= nr_params[name]; i++) {
		p = param[name, i]
		text = doc[name, "@" p]
		tag = p ~ /[A-Z]/ ? bold(p) : italic(p)
		if (said[p] != text)
			item((name, p) in code ? declared(code[name, p]) : tag, text)
		said[p] = text
	}
	n = split(doc[name, "text"], parts, /\n+/)
	for (i = 2; i <= n && parts[i] != ""; i++) {
		print ".PP"
		fill(parts[i])
	}
}

# Lines break before arguments.
function synopsis(	i, j, n, args)
{
	print ".nh\n.na\n.B #include <tracemap/" header[functions[1]] ">\n.PP\n.PD 0"
	for (i = 1; i <= nr_functions; i++) {
		print ".HP 8"
		gsub(/ /, "\\ ", code[functions[i]])
		sub(/\(/, "(\\:", code[functions[i]])
		n = split(code[functions[i]] ";", args, /,(\\ )?/)
		for (j = 1; j <= n; j++)
			print declared(args[j]) (j < n ? bold(",") : "")
	}
	print ".PD\n.ad\n.hy"
}

function results(	i, j, name)
{
	for (i = 1; name = functions[i]; i++) {
		if (doc[name, "return"] == "")
			continue
		if (!said["return"]++)
			print ".SH RETURN VALUE"
		item(bold(name) "()", doc[name, "return"])
	}
	for (i = 1; name = functions[i]; i++) {
		if (nr_errors[name])
			print (said["errors"]++ ? "" : ".SH ERRORS\n") ".SS " name "()"
		for (j = 1; j <= nr_errors[name]; j++) {
			gsub(/-/, "\\-", error[name, j])
			item(bold(error[name, j]), doc[name, j])
		}
	}
}

FILENAME ~ /\.3$/ { lines[++nr_lines] = $0 }
/^\.doc / && NF == 2 {
	functions[++nr_functions] = $2
	here[$2] = 1
	if (FILENAME !~ ("/" $2 "\\.3$"))
		names = names ",\n" $2
}

END {
	page = FILENAME
	gsub(/.*\/|\.3$/, "", page)
	for (i = 1; i <= nr_lines; i++) {
		if (lines[i] == ".SH EXAMPLE" && nr_functions)
			results()
		if (sub(/^\.doc /, "", lines[i]))
			document(lines[i])
		else
			print lines[i]
		if (lines[i] == ".SH NAME")
			print page names
		if (lines[i] == ".SH SYNOPSIS" && nr_functions)
			synopsis()
	}
}
