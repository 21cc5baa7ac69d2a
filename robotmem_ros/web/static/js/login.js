// Asks for the token where the server wants one.
import { del, onRefused, post } from "./api.js";
import { field, openDialog } from "./dialog.js";
import { on } from "./bus.js";
import { byId, h } from "./dom.js";
import { icon } from "./icons.js";
import { toast } from "./toasts.js";
import { t } from "./words.js";

let asking = false;

/** Logs in with the token of the address, as the console prints it, and takes it out of the address. */
export async function loginByAddress() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.search);
  await post("/api/login", { token }).catch(() => {}); // a wrong one is asked for again
}

/** Shows the button that logs out where the console wants a token; without it, the page asks for a token again. */
export function startLogout() {
  const button = byId("logout");
  button.append(icon("logout"));
  button.title = t("logout");
  on("health", ({ needs_token: needed }) => (button.hidden = !needed));
  button.addEventListener("click", async () => {
    try {
      await del("/api/login");
      location.reload();
    } catch (error) {
      toast(error.message, { bad: true });
    }
  });
}

/** Opens the login when a request is refused; `done` is called once the token was right. */
export function startLogin(done) {
  onRefused(() => {
    if (asking) return;
    asking = true;
    let right = false;
    openDialog({
      title: t("login"),
      content: [h("p", {}, t("login_why")), field(t("token"), h("input", { type: "password", name: "token", autofocus: true, autocomplete: "current-password" }))],
      submit: t("login_go"),
      onSubmit: async (form) => {
        await post("/api/login", { token: form.get("token").trim() });
        right = true;
      },
      onClose: () => {
        asking = false;
        if (right) done();
      },
    });
  });
}
