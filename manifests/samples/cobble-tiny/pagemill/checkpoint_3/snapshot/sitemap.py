# TODO: write the sitemap
def make_sitemap(files):
