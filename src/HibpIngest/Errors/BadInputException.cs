namespace HibpIngest.Errors;

/// <summary>
/// What was handed in is wrong (archive, metadata, subscriber file, option): trying again can't help. A pipeline message that
/// meets it records the reason and is acknowledged.
/// </summary>
public class BadInputException(string message, Exception? inner = null) : HibpException(message, inner);
