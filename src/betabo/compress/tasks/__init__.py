"""Tasks: what a compressed model is trained and judged on."""

from betabo.compress.tasks.answering import QuestionAnswering
from betabo.compress.tasks.catalogue import TASKS, TaskEntry, register_task, task_by_name
from betabo.compress.tasks.classification import TextClassification
from betabo.compress.tasks.images import ImageClassification
from betabo.compress.tasks.language import LanguageModelling
from betabo.compress.tasks.split import Split, TaskData
from betabo.compress.tasks.task import DEVELOPMENT_IS_TEST, Batch, Criterion, Kind, SplitRule, Task

__all__ = [
    "DEVELOPMENT_IS_TEST",
    "TASKS",
    "Batch",
    "Criterion",
    "ImageClassification",
    "Kind",
    "LanguageModelling",
    "QuestionAnswering",
    "Split",
    "SplitRule",
    "Task",
    "TaskData",
    "TaskEntry",
    "TextClassification",
    "register_task",
    "task_by_name",
]
