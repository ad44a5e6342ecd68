// Sets the colours before the first paint: those that were chosen, or else those of the system.
{
  const chosen = localStorage.getItem("codeq-theme");
  const isDark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}
