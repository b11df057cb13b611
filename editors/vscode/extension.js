// Starts `rise lsp` and lets VS Code talk to it.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGES = ["rise", "mlir", "rise-strategy"];
let client;

function activate() {
  const command = vscode.workspace.getConfiguration("rise").get("command");
  const server = { command, args: ["lsp", "--stdio"] };
  const options = { documentSelector: LANGUAGES.map((language) => ({ language })) };
  client = new LanguageClient("rise", "RISE", server, options);
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
