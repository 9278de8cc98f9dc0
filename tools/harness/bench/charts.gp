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

# The colours are Okabe and Ito's, which the colour-blind tell apart. A way to read has the same in every chart.
set style line 1 linecolor '#8c8c8c' linewidth 2 pointtype 5	# parsing alone
set style line 2 linecolor '#e69f00' linewidth 2 pointtype 13	# read(2)
set style line 3 linecolor '#d55e00' linewidth 2 pointtype 9	# mapping, mainline
set style line 4 linecolor '#0072b2' linewidth 2 pointtype 7	# mapping, this series
set style line 5 linecolor '#117733' linewidth 2 pointtype 4	# live view
set style line 6 linecolor '#009e73' linewidth 2 pointtype 8	# splice(2) to a file
set style line 7 linecolor '#56b4e9' linewidth 2 pointtype 10	# splice(2) to /dev/null
set style line 8 linecolor '#cc79a7' linewidth 2 pointtype 2	# perf
set style line 9 linecolor '#7a4b00' linewidth 2 pointtype 1	# BPF ring buffer
array core[5] = [1, 2, 3, 4, 5]
array ways[8] = [1, 2, 4, 5, 6, 7, 8, 9]

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

set output out.'/cost-by-way.svg'
set key title 'Reading a trace event, by every way there is; less is better'
table = 'Reading an event, by every way there is'
plot for [i = 1:8] table using i + 1:xtic(1) linestyle ways[i], \
	for [i = 1:8] table using (place(i, 8)):i + 1:i + 1 with labels offset 0, 0.5 font ',11' notitle

set output out.'/sum-by-way.svg'
set key title 'A trace event of 32 bytes, written and read, by every way there is; less is better'
unset xlabel
set style histogram rowstacked
set boxwidth 0.6
set xtics rotate by -20
table = 'Writing and reading an event, by every way there is'
plot table using 2:xtic(1) linestyle 2 title 'written', '' using 3 linestyle 4 title 'read', \
	'' using 0:4:4 with labels offset 0, 0.5 font ',12' notitle
set xtics norotate
set boxwidth

# --- curves ---

set style data linespoints
set offsets graph 0.04, graph 0.04, 0, 0
set logscale x
set logscale y
set yrange [*:*]

set output out.'/cost-by-every-payload.svg'
set key title 'Reading a trace event, from small payloads to large; less is better'
array names[5] = ['parsing alone, this series', 'read(2), this series', 'mapping, mainline', \
	'mapping, this series', 'live view, this series']
table = 'Reading an event, all payloads and kernels'
plot for [i = 1:5] table using 1:(column(names[i])):xtic(1) linestyle core[i] title names[i]

set output out.'/get-reader.svg'
set key title 'GET_READER, by the events in the sub-buffer; less is better'
set xlabel 'events in the sub-buffer'
set ylabel unit.' a call, or a look'
table = 'GET_READER, by the events in the sub-buffer'
plot for [i = 1:6] table using 1:i + 1:xtic(1) linestyle 3 + (i - 1) / 2 dashtype 1 + (i - 1) % 2

set output out.'/mmap-by-size.svg'
set key title 'Mapping a buffer, by its size; less is better'
set xlabel 'size of the buffer'
set ylabel unit.' to map it'
table = 'mmap() of a buffer'
index = 'The first observer: open() and mmap() of the live index'
plot table using 1:'mainline':xtic(1) linestyle 3 title 'mapping, mainline', \
	table using 1:'this series' linestyle 4 title 'mapping, this series', \
	index using 1:'the calls' linestyle 5 title 'live index alone'

unset logscale y
set yrange [0:*]

set output out.'/cost-by-subbuf.svg'
set key title 'Reading a trace event of 32 bytes, by the size of sub-buffers; less is better'
set xlabel 'size of a sub-buffer, KiB'
set ylabel unit.' an event'
table = 'Reading an event, by the size of sub-buffers'
array names[5] = ['parsing alone', 'read(2) and parse', 'mapping, mainline', 'mapping, this series', 'live view']
plot for [i = 1:5] table using 1:(column(names[i].', 32')):xtic(1) linestyle core[i] title names[i]

unset logscale x
set xtics autofreq

set output out.'/loss-by-rate.svg'
set key title 'Events lost, by the rate of writing; less is better'
set xlabel 'events written in a millisecond'
set ylabel '% of the events written'
table = 'Events lost, by the rate of writing'
plot for [i = 1:7] table using 1:i + 1 linestyle ways[i + 1]
