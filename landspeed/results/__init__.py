"""From records to points, series and answers about one dot."""
