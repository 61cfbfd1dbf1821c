"""Many models of one learner, trained side by side; the file is parsed once for all of them."""
