# SPDX-License-Identifier: GPL-2.0
#
# The charts of the benchmark's document, for gnuplot. charts.sh has written each table of the document to a file
# that is named as the table's section, and sets unit, what the costs are counted in, and out, the folder.

set terminal svg size 860,460 font 'sans-serif,14' noenhanced background '#ffffff'
set datafile separator tab
set datafile missing '–'
set border 3 linecolor '#8c959f'
set tics nomirror scale 0.5 textcolor '#59636e'
set grid ytics linecolor '#e4e7eb' linetype 1
set key autotitle columnheader outside top center horizontal Left reverse samplen 2 width -3
set autoscale xfix
set format y '%.0f'

# The colours are Okabe and Ito's, which the colour-blind tell apart.
set style line 1 linecolor '#8c8c8c' linewidth 2 pointtype 5	# parsing alone
set style line 2 linecolor '#e69f00' linewidth 2 pointtype 13	# read(2)
set style line 3 linecolor '#d55e00' linewidth 2 pointtype 9	# mapping, mainline
set style line 4 linecolor '#0072b2' linewidth 2 pointtype 7	# mapping, this series
set style line 5 linecolor '#117733' linewidth 2 pointtype 4	# live view
array core[5] = [1, 2, 3, 4, 5]

# --- bars in groups: a group for each line of the table, a bar for each column, with its figure on top ---

set style data histograms
set style histogram clustered gap 1
set style fill solid
set xlabel 'payload of an event, bytes'
set ylabel unit.' an event'
set yrange [0:*]
set offsets -0.4, -0.4, 0, 0
place(bar, bars) = column(0) + (bar - (bars + 1) / 2.0) / (bars + 1)

set output out.'/cost-by-payload.svg'
set key title 'Reading a trace event, by its payload; less is better'
table = 'Reading an event, by its payload'
plot for [i = 1:5] table using i + 1:xtic(1) linestyle core[i], \
	for [i = 1:5] table using (place(i, 5)):i + 1:i + 1 with labels offset 0, 0.5 font ',12' notitle

set output out.'/sum-by-way.svg'
set key title 'A trace event of 32 bytes, written and read, by every way there is; less is better'
unset xlabel
set style histogram rowstacked
set boxwidth 0.6
set xtics rotate by -20
table = 'Writing and reading an event, by every way there is'
plot table using 2:xtic(1) linestyle 2 title 'written', '' using 3 linestyle 4 title 'read', \
	'' using 0:4:4 with labels offset 0, 0.5 font ',12' notitle
