"""Tests in a browser, whose fixtures end with the folder."""
