"""Where rows come from: arrays, svmlight text, tables, again and again, in flat memory."""
