"""How far the outputs of judged dispatches are from the real numbers: measured always, and no part of a verdict."""
