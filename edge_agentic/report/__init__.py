"""The result of a run: the document that is kept, and the ways to show it.

`document` builds and checks result.json, `stored` reads a run directory back, `content` decides what is said,
`console`, `html` and `csv` only lay it out, `comparison` sets two runs side by side.
"""
