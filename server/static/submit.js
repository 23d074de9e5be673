// Submits the response to the app at once. Without this script the user presses the button.
document.forms[0].submit();
