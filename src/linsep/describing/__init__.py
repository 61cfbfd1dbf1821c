"""What a data set holds, found out in one reading with bounded memory."""
