// Sets the theme before anything is painted: the chosen one, else that of the system. A plain script: modules are late.
window.robotmemTheme = () => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("robotmem.theme");
  } catch {
    // Storage may be forbidden; then the system decides.
  }
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = chosen === "light" || chosen === "dark" ? chosen : system;
};
window.robotmemTheme();
