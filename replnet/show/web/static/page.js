// Sorting makes the heads of a table anew, after a while: the one that was pressed gets the focus back, unless another
// has it.
document.addEventListener("click", (event) => {
  const head = event.target.closest(".rn-sort");
  if (!head) return;
  const table = head.closest("table"), words = head.innerText;
  const refocus = (left) => {
    if (document.activeElement === document.body)
      [...table.querySelectorAll(".rn-sort")].find((other) => other.innerText === words)?.focus();
    if (left) setTimeout(refocus, 50, left - 1);
  };
  refocus(20);
});
