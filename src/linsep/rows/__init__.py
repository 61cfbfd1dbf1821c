"""Row streams: passes over arrays (``arrays``, with the order of rows and what is held out) and
over sources (``source_stream``, which numbers their labels and keeps their rows).
"""
