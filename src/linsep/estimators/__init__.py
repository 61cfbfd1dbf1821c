"""scikit-learn estimators: one public class a file; what they share is in _common."""
