def pytest_addoption(parser):
    parser.addoption("--entrypoint")
    parser.addoption("--checkpoint")
