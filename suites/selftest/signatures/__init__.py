"""That a new operator of any form is a YAML file and nothing else: five of them, judged right and wrong."""
