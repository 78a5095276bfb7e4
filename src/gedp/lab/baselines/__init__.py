"""What agencies do today, to compare with.

suppression   which cells the published QCEW leaves blank
"""
