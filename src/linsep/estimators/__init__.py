"""scikit-learn estimators, one public class per file; shared code is in _common."""
