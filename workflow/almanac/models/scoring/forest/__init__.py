"""The prefix forest: every distinct token of a set of requests is computed once.

`trie.py` finds the prefixes that requests share, `plan.py` lays them out in trunks and rows, `kernels.py` and
`attention.py` compute attention over a trunk and a tree at once, `reading.py` runs the model and reads off the values.
"""
