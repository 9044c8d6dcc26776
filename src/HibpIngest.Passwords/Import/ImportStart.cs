namespace HibpIngest.Passwords.Import;

public enum ImportStart
{
    /// <summary>At the beginning: there was no earlier run.</summary>
    New = 0,

    /// <summary>At the last checkpoint of an interrupted run.</summary>
    Continues,

    /// <summary>Nowhere: an earlier run has read everything.</summary>
    AllRead,

    /// <summary>At the beginning: the inputs or options are not those of the interrupted run.</summary>
    OtherInput,

    /// <summary>At the beginning: the interrupted run's files are damaged, or of another version.</summary>
    Damaged,

    /// <summary>Nowhere: a release lists all of it already.</summary>
    Listed,
}
