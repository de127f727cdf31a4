"""The mistakes that real surveys hold, planted one by one in surveys that are in order.

`worlds` models small surveys, `trace_files` writes them in the layouts of the field and opens them for editing,
`surveys` are the clean ones, `mistakes_*` plant one mistake each, `judge` says whether `subsalt check` caught it, and
`python tests/check/planted` prints the table.
"""
