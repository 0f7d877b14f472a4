// Polls the status of the approval request, and submits the form when it is no longer pending.
async function isPending() {
  try {
    const reply = await fetch("/second/push/status", { cache: "no-store" });
    if (reply.status === 429 || reply.status === 503) return true;
    return reply.ok && !reply.redirected && (await reply.json()).status === "pending";
  } catch {
    return true; // The site is unreachable for the moment: try again.
  }
}
async function poll() {
  if (await isPending()) {
    setTimeout(poll, 1000);
  } else {
    document.getElementById("push").submit();
  }
}
setTimeout(poll, 1000);
