"""The frame around every page: what is in the address, what is kept between runs, and how it all looks."""
