"""svmlight text: the compiled scanner's source, and the plain parser that explains errors."""
