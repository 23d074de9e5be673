// Sends the answer to the app at once. Without this script the reader presses the button.
document.forms[0].submit();
