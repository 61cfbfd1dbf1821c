"""What X and y may hold; where they hold something else, the row, the column and what to do."""
