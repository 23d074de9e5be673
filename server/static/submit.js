// Submits the response to the app immediately. Without this script the user presses the button.
document.forms[0].submit();
