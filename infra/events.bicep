// The event subscriptions. Deployed when the app's code runs: Event Grid calls the webhook at once to validate it, and the webhook's key exists only from the first start on.
targetScope = 'resourceGroup'

param appName string
param storageAccountName string
param eventTopicName string
param dropContainer string
param undeliveredContainer string

// The host's name of the function: Host.Functions. and its folder.
var functionName = 'IngestBreach'

// The same for files of password hashes. IPasswordDrops.Container of the program.
var passwordsFunctionName = 'PlanPasswords'
var passwordDropsContainer = 'passwords-import'

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {
  name: storageAccountName
}

resource app 'Microsoft.Web/sites@2024-11-01' existing = {
  name: appName
}

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' existing = {
  name: eventTopicName
}

// Into the address and nowhere else: never an output.
var key = listKeys('${app.id}/host/default', '2024-11-01').systemKeys.blobs_extension

// Called zips since breaches came in nothing else: under another name it would stand beside the one that is there.
resource zips 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = {
  parent: topic
  name: 'zips'
  properties: {
    eventDeliverySchema: 'EventGridSchema'
    destination: {
      endpointType: 'WebHook'
      properties: {
        endpointUrl: 'https://${app.properties.defaultHostName}/runtime/webhooks/blobs?functionName=Host.Functions.${functionName}&code=${key}'
        maxEventsPerBatch: 1
        preferredBatchSizeInKilobytes: 64
        minimumTlsVersionAllowed: '1.2'
      }
    }
    filter: {
      includedEventTypes: ['Microsoft.Storage.BlobCreated']
      subjectBeginsWith: '/blobServices/default/containers/${dropContainer}/blobs/'
      isSubjectCaseSensitive: false
      // Only calls that leave a complete blob behind (learn.microsoft.com/azure/event-grid/event-schema-blob-storage): a file being appended to, or an empty one made first, is none.
      advancedFilters: [
        // What breaches come in: BreachFiles.Endings of the program. Case makes no difference to advanced filters.
        {
          operatorType: 'StringEndsWith'
          key: 'subject'
          values: ['.zip', '.tgz', '.tar', '.gz', '.csv', '.txt', '.sql']
        }
        {
          operatorType: 'StringIn'
          key: 'data.api'
          values: ['PutBlob', 'PutBlockList', 'FlushWithClose', 'CopyBlob']
        }
      ]
    }
    // A day, which is what Event Grid offers at most. What gets lost even so is found by Sweep.
    retryPolicy: {
      maxDeliveryAttempts: 30
      eventTimeToLiveInMinutes: 1440
    }
    deadLetterWithResourceIdentity: {
      identity: {
        type: 'SystemAssigned'
      }
      deadLetterDestination: {
        endpointType: 'StorageBlob'
        properties: {
          resourceId: account.id
          blobContainerName: undeliveredContainer
        }
      }
    }
  }
}

// Files of password hashes, whatever they are called.
resource passwords 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = {
  parent: topic
  name: 'passwords'
  properties: {
    eventDeliverySchema: 'EventGridSchema'
    destination: {
      endpointType: 'WebHook'
      properties: {
        endpointUrl: 'https://${app.properties.defaultHostName}/runtime/webhooks/blobs?functionName=Host.Functions.${passwordsFunctionName}&code=${key}'
        maxEventsPerBatch: 1
        preferredBatchSizeInKilobytes: 64
        minimumTlsVersionAllowed: '1.2'
      }
    }
    filter: {
      includedEventTypes: ['Microsoft.Storage.BlobCreated']
      subjectBeginsWith: '/blobServices/default/containers/${passwordDropsContainer}/blobs/'
      isSubjectCaseSensitive: false
      advancedFilters: [
        {
          operatorType: 'StringIn'
          key: 'data.api'
          values: ['PutBlob', 'PutBlockList', 'FlushWithClose', 'CopyBlob']
        }
      ]
    }
    retryPolicy: {
      maxDeliveryAttempts: 30
      eventTimeToLiveInMinutes: 1440
    }
    deadLetterWithResourceIdentity: {
      identity: {
        type: 'SystemAssigned'
      }
      deadLetterDestination: {
        endpointType: 'StorageBlob'
        properties: {
          resourceId: account.id
          blobContainerName: undeliveredContainer
        }
      }
    }
  }
}
