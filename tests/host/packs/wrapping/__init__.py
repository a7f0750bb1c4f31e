"""Another pack that wraps the same method, as some do."""

import execution

original = execution.PromptExecutor.handle_execution_error


def handle_execution_error(self, prompt_id, prompt, current_outputs, executed, error, ex):
    if "exception_message" in error:
        error["exception_message"] += "\n(wrapped by another pack)"
    return original(self, prompt_id, prompt, current_outputs, executed, error, ex)


execution.PromptExecutor.handle_execution_error = handle_execution_error
NODE_CLASS_MAPPINGS = {}
