import { render } from "preact";
import { App } from "./app";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/controls.css";
import "./styles/tables.css";
import "./styles/pages.css";
import "./styles/balance.css";

render(<App />, document.getElementById("app")!);
