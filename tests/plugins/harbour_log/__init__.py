"""A context engine for Hermes Agent, as people write them: relative imports, a database, tools, its own threads."""

import logging

logger = logging.getLogger(__name__)


def register(ctx):
    from .engine import HarbourEngine
    from .options import Options

    try:
        from hermes_cli.config import get_hermes_home

        home = str(get_hermes_home())
    except ImportError:
        home = ""
    engine = HarbourEngine(Options.from_environment(), hermes_home=home)
    ctx.register_context_engine(engine)
    # Things that not every host has.
    skills = getattr(ctx, "register_skill", None)
    if callable(skills):
        skills("harbour", __file__, description="How to use the log.")
    ctx.register_hook("pre_llm_call", lambda **payload: None)
    ctx.register_command("harbour", lambda text: f"{engine.log.count()} messages", description="the log")
