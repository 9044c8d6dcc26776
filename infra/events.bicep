// The event subscriptions. Deploy them only once the app's code runs: Event Grid validates the webhook
// immediately, and the host creates the webhook's key at its first start.
targetScope = 'resourceGroup'

param appName string
param storageAccountName string
param eventTopicName string
param dropContainer string
param undeliveredContainer string

// The function's name. The webhook's URL prefixes it with Host.Functions.
var functionName = 'IngestBreach'

// The function and the container for files of password hashes. The container's name is
// IPasswordDrops.Container in the code.
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

// The key belongs in the webhook's URL only. Never make it an output.
var key = listKeys('${app.id}/host/default', '2024-11-01').systemKeys.blobs_extension

// The name dates from when every breach was a zip. Renaming it would add a second subscription to existing
// deployments.
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
      // Only operations that leave a complete blob
      // (learn.microsoft.com/azure/event-grid/event-schema-blob-storage). Appends, and the empty file that
      // some clients create first, are excluded.
      advancedFilters: [
        // The extensions of breach files: BreachFiles.Endings in the code. Advanced filters ignore case.
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
    // One day is Event Grid's maximum. Sweep finds files whose event is lost nevertheless.
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

// Files of password hashes, regardless of their names.
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
