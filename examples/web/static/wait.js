// Counts down on the buttons that the service accepts only after some seconds. Without this script
// they can be pressed at once, and the response says how many seconds are left.
for (const button of document.querySelectorAll("button[data-wait]")) {
  const name = button.textContent.trim();
  const end = performance.now() + 1000 * Number(button.dataset.wait);
  const tick = () => {
    const left = Math.ceil((end - performance.now()) / 1000);
    const shown = left < 120 ? `${left} s` : `${Math.ceil(left / 60)} minutes`;
    button.disabled = left > 0;
    button.textContent = left > 0 ? `${button.dataset.waiting ?? name} in ${shown}` : name;
    if (left > 0) {
      setTimeout(tick, 250);
    } else {
      document.getElementById("ready").textContent = `You can go on now: ${name}.`;
    }
  };
  const problem = document.getElementById("wait");
  if (problem) problem.hidden = true;
  tick();
}
