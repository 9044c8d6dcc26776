namespace HibpIngest.Passwords;

public enum ImportStart
{
    /// <summary>At the beginning: nothing was there.</summary>
    New = 0,

    /// <summary>At the last checkpoint of one that was interrupted.</summary>
    GoesOn,

    /// <summary>Nowhere: an earlier run has read everything.</summary>
    AllRead,

    /// <summary>
    /// At the beginning: the files, or how they are to be read, are not those of the run that was interrupted.
    /// </summary>
    OtherInput,

    /// <summary>At the beginning: what the interrupted run left is damaged, or of another version.</summary>
    Damaged,

    /// <summary>Nowhere: a release lists all of it already.</summary>
    Listed,
}
