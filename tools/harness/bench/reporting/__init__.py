# SPDX-License-Identifier: GPL-2.0
"""What report.py is made of: results, tables, targets, plots and documents."""
