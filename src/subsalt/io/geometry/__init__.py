"""Positions where surveys keep them: SPS, UKOOA P1/90 and OGP P1/11 files, joined with traces by the numbers in their
headers.
"""
