// Polls the status of the approval request, and submits the form when it is no longer pending.
async function poll() {
  try {
    const reply = await fetch("/second/push/status", { cache: "no-store" });
    if (!reply.ok || reply.redirected || (await reply.json()).status !== "pending") {
      return document.getElementById("push").submit();
    }
  } catch {
    // The site is unreachable for the moment: try again.
  }
  setTimeout(poll, 1000);
}
setTimeout(poll, 1000);
