"""Row streams: passes over arrays (``arrays``, with the order of rows and what is held out) and
over sources (``source_stream``), whose rows ``stored`` keeps and whose labels
``label_book`` numbers.
"""
