"""Code shared by several estimators; each file is about what its name says."""
