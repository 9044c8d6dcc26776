// The storage account of the breaches: the dropped zips, the catalogue, Pwned Passwords, the queues, the
// tables of accounts and of their hashes, and the register. It contains no code: the package and the host's
// own data are in another account (host.bicep).
param accountName string
param location string
param sku string
param appPrincipalId string
@description('Principal id of the web app\'s identity. Empty: there is no web app.')
param webPrincipalId string
@description('Principal id of the second region\'s web app, which gets the same roles. Empty: there is none.')
param secondWebPrincipalId string
param operatorObjectId string
param operatorType string
param dropperObjectId string
param dropperType string
param hashesDropperObjectId string
param hashesDropperType string

// These names are in the code as QueueNames, IBreachBlobs.Container, ICatalogueBlobs.Container,
// IPasswordBlobs.Container, IPasswordDrops.Container and StorageOptions.
var dropContainer = 'breach'
// The catalogue, from which the API serves the breaches. The app and the operator write it, with roles on the
// whole account.
var catalogueContainer = 'catalogue'
// The journal, from which everything else can be rebuilt. The app and the operator write it.
var journalContainer = 'account-log'
// Releases of Pwned Passwords. The operator writes them.
var passwordsContainer = 'passwords'
// Dropped files of password hashes. They are deleted once they are imported.
var passwordDropsContainer = 'passwords-import'
var queueNames = [
  'breach-ingest'
  'breach-slices'
  'breach-match'
  'breach-mail'
  'breach-log'
  'breach-calls'
  'breach-callbacks'
  'passwords-import'
]
var poisonSuffix = '-poison'
var tableNames = ['accounts', 'ranges', 'hibpkeys', 'hibpstore']
// Hashes submitted over HTTP: a table, a container, and the queue of confirmed submissions, all written by
// the web app. The names are IPasswordAppends.Name and AppendMessage.Queue in the code.
var appendsName = 'passwordappends'
var appendsQueue = 'passwords-append'
// Commands of people, sealed: written by the web app, handled by the pipeline's app.
var commandsQueue = 'hibp-commands'
// Links by which owners of domains sign in: written by the pipeline's app, used up by the web app.
var signInsTable = 'hibpgrants'
// The access log. The web app writes only the container; the pipeline's app counts its blobs, using the queue
// and the usage table.
var accessLogContainer = 'access'
var accessQueue = 'access-rollup'
var usageTable = 'hibpusage'
// Callbacks: the container holds what clients watch, written by the web app. The table holds the clients'
// identities and URLs, which the web app can't read.
var clientsContainer = 'clients'
var clientsTable = 'hibpclients'
// The sealed contents of pending callbacks. The pipeline's app writes and reads them.
var callbacksContainer = 'callbacks'

// The queue to which the host sends blobs whose function failed five times (poisonBlobThreshold). It is in
// the blobs' account.
var blobPoisonQueue = 'webjobs-blobtrigger-poison'
var undeliveredContainer = 'events-undelivered'

// learn.microsoft.com/azure/role-based-access-control/built-in-roles
var roles = {
  'Storage Blob Data Owner': 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  'Storage Blob Data Contributor': 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
  'Storage Queue Data Contributor': '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
  'Storage Blob Data Reader': '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
  'Storage Table Data Reader': '76199698-9eea-4c19-bc75-cec21354c6b6'
  'Storage Queue Data Message Sender': 'c6a89b2d-59bc-44d0-9896-0f6e12d7b80a'
}

// A blob trigger requires the Owner role on blobs
// (learn.microsoft.com/azure/azure-functions/functions-bindings-storage-blob-trigger#grant-permission-to-the-identity).
var appRoles = ['Storage Blob Data Owner', 'Storage Queue Data Contributor', 'Storage Table Data Contributor']
var webPrincipalIds = [webPrincipalId, secondWebPrincipalId]
// The operator drops and reads zips, requeues messages, and looks up and removes accounts.
var operatorRoles = [
  'Storage Blob Data Contributor'
  'Storage Queue Data Contributor'
  'Storage Table Data Contributor'
]

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' = {
  name: accountName
  location: location
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: 'Enabled'
  }

  resource blobs 'blobServices' = {
    name: 'default'

    resource drop 'containers' = {
      name: dropContainer
      properties: {
        publicAccess: 'None'
      }
    }

    resource catalogue 'containers' = {
      name: catalogueContainer
      properties: {
        publicAccess: 'None'
      }
    }

    resource journal 'containers' = {
      name: journalContainer
      properties: {
        publicAccess: 'None'
      }
    }

    resource passwords 'containers' = {
      name: passwordsContainer
      properties: {
        publicAccess: 'None'
      }
    }

    resource appends 'containers' = {
      name: appendsName
      properties: {
        publicAccess: 'None'
      }
    }

    resource accessLog 'containers' = {
      name: accessLogContainer
      properties: {
        publicAccess: 'None'
      }
    }

    resource clients 'containers' = {
      name: clientsContainer
      properties: {
        publicAccess: 'None'
      }
    }

    resource callbacks 'containers' = {
      name: callbacksContainer
      properties: {
        publicAccess: 'None'
      }
    }

    resource passwordDrops 'containers' = {
      name: passwordDropsContainer
      properties: {
        publicAccess: 'None'
      }
    }

    resource undelivered 'containers' = {
      name: undeliveredContainer
      properties: {
        publicAccess: 'None'
      }
    }
  }

  resource queueService 'queueServices' = {
    name: 'default'

    resource queues 'queues' = [
      for queue in queueNames: {
        name: queue
      }
    ]

    resource poisonQueues 'queues' = [
      for queue in queueNames: {
        name: '${queue}${poisonSuffix}'
      }
    ]

    resource appends 'queues' = {
      name: appendsQueue
    }

    resource appendsPoison 'queues' = {
      name: '${appendsQueue}${poisonSuffix}'
    }

    resource access 'queues' = {
      name: accessQueue
    }

    resource accessPoison 'queues' = {
      name: '${accessQueue}${poisonSuffix}'
    }

    resource commands 'queues' = {
      name: commandsQueue
    }

    resource commandsPoison 'queues' = {
      name: '${commandsQueue}${poisonSuffix}'
    }

    resource blobPoison 'queues' = {
      name: blobPoisonQueue
    }
  }

  // Deletes orphaned hashes, whose transaction was never recorded or was deleted first: nothing else would
  // find them. A transaction that waits for a month has been logged as an error since its second day.
  resource lifecycle 'managementPolicies' = {
    name: 'default'
    properties: {
      policy: {
        rules: [
          {
            name: 'forget-appends'
            type: 'Lifecycle'
            definition: {
              filters: {
                blobTypes: ['blockBlob']
                prefixMatch: ['${appendsName}/']
              }
              actions: {
                baseBlob: {
                  delete: {
                    daysAfterModificationGreaterThan: 30
                  }
                }
              }
            }
          }
        ]
      }
    }
  }

  // Never add diagnostic settings to the table service: its logs contain request lines, and those contain the
  // keys, which are people's addresses.
  resource tableService 'tableServices' = {
    name: 'default'

    resource appends 'tables' = {
      name: appendsName
    }

    resource signIns 'tables' = {
      name: signInsTable
    }

    resource usage 'tables' = {
      name: usageTable
    }

    resource clientTable 'tables' = {
      name: clientsTable
    }
  }
}

resource tables 'Microsoft.Storage/storageAccounts/tableServices/tables@2024-01-01' = [
  for table in tableNames: {
    parent: account::tableService
    name: table
  }
]

resource appAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in appRoles: {
    name: guid(account.id, appPrincipalId, roles[role])
    scope: account
    properties: {
      principalId: appPrincipalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles[role])
    }
  }
]

resource operatorAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in operatorRoles: if (!empty(operatorObjectId)) {
    name: guid(account.id, operatorObjectId, roles[role])
    scope: account
    properties: {
      principalId: operatorObjectId
      principalType: operatorType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles[role])
    }
  }
]

// The dropper of breaches has a role on this one container.
resource dropperAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(dropperObjectId)) {
  name: guid(account::blobs::drop.id, dropperObjectId, roles['Storage Blob Data Contributor'])
  scope: account::blobs::drop
  properties: {
    principalId: dropperObjectId
    principalType: dropperType
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Storage Blob Data Contributor']
    )
  }
}

// The dropper of password hashes has no role on breaches, nor on anything that is served.
resource passwordsDropperAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(hashesDropperObjectId)) {
  name: guid(account::blobs::passwordDrops.id, hashesDropperObjectId, roles['Storage Blob Data Contributor'])
  scope: account::blobs::passwordDrops
  properties: {
    principalId: hashesDropperObjectId
    principalType: hashesDropperType
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Storage Blob Data Contributor']
    )
  }
}

// The web app reads what a lookup needs, and writes only submissions and its access log. It gets a role on
// each table and container separately, so that resources added here later are not accessible by default.
resource webTableAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (table, i) in tableNames: if (!empty(webPrincipalId)) {
    name: guid(tables[i].id, webPrincipalId, roles['Storage Table Data Reader'])
    scope: tables[i]
    properties: {
      principalId: webPrincipalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Table Data Reader']
      )
    }
  }
]

resource secondWebTableAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (table, i) in tableNames: if (!empty(secondWebPrincipalId)) {
    name: guid(tables[i].id, secondWebPrincipalId, roles['Storage Table Data Reader'])
    scope: tables[i]
    properties: {
      principalId: secondWebPrincipalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Table Data Reader']
      )
    }
  }
]

resource webCatalogueAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in webPrincipalIds: if (!empty(principal)) {
    name: guid(account::blobs::catalogue.id, principal, roles['Storage Blob Data Reader'])
    scope: account::blobs::catalogue
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Blob Data Reader']
      )
    }
  }
]

// For packs and single blobs. To serve a release from tables, grant the web app a reader role on them
// (docs/passwords.md).
resource webPasswordsAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in webPrincipalIds: if (!empty(principal)) {
    name: guid(account::blobs::passwords.id, principal, roles['Storage Blob Data Reader'])
    scope: account::blobs::passwords
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Blob Data Reader']
      )
    }
  }
]

// Submitted hashes: the web app stores, looks up and confirms them, and sends a message. It can't read
// messages; the pipeline's app does.
resource webAppendsTableAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in webPrincipalIds: if (!empty(principal)) {
    name: guid(account::tableService::appends.id, principal, roles['Storage Table Data Contributor'])
    scope: account::tableService::appends
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Table Data Contributor']
      )
    }
  }
]

// A link works once, so the web app deletes its row.
resource webSignInsAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in webPrincipalIds: if (!empty(principal)) {
    name: guid(account::tableService::signIns.id, principal, roles['Storage Table Data Contributor'])
    scope: account::tableService::signIns
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Table Data Contributor']
      )
    }
  }
]

resource webAppendsBlobAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in webPrincipalIds: if (!empty(principal)) {
    name: guid(account::blobs::appends.id, principal, roles['Storage Blob Data Contributor'])
    scope: account::blobs::appends
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Blob Data Contributor']
      )
    }
  }
]

// The web app's access log. No built-in role allows appending without reading.
resource webAccessLogAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in webPrincipalIds: if (!empty(principal)) {
    name: guid(account::blobs::accessLog.id, principal, roles['Storage Blob Data Contributor'])
    scope: account::blobs::accessLog
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Blob Data Contributor']
      )
    }
  }
]

resource webClientsAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in webPrincipalIds: if (!empty(principal)) {
    name: guid(account::blobs::clients.id, principal, roles['Storage Blob Data Contributor'])
    scope: account::blobs::clients
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Blob Data Contributor']
      )
    }
  }
]

resource webAppendsQueueAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in webPrincipalIds: if (!empty(principal)) {
    name: guid(account::queueService::appends.id, principal, roles['Storage Queue Data Message Sender'])
    scope: account::queueService::appends
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Queue Data Message Sender']
      )
    }
  }
]

resource webCommandsQueueAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in webPrincipalIds: if (!empty(principal)) {
    name: guid(account::queueService::commands.id, principal, roles['Storage Queue Data Message Sender'])
    scope: account::queueService::commands
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Queue Data Message Sender']
      )
    }
  }
]

resource eventTopic 'Microsoft.EventGrid/systemTopics@2025-02-15' = {
  name: '${accountName}-events'
  location: location
  identity: {
    type: 'SystemAssigned'
  }
  properties: {
    source: account.id
    topicType: 'Microsoft.Storage.StorageAccounts'
  }
}

// The topic writes undelivered events to a container with its own identity, because shared keys are off.
resource eventTopicAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(account::blobs::undelivered.id, eventTopic.id, roles['Storage Blob Data Contributor'])
  scope: account::blobs::undelivered
  properties: {
    principalId: eventTopic.identity.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Storage Blob Data Contributor']
    )
  }
}

output accountName string = account.name
output dropContainer string = dropContainer
output undeliveredContainer string = undeliveredContainer
output blobEndpoint string = account.properties.primaryEndpoints.blob
output queueEndpoint string = account.properties.primaryEndpoints.queue
output eventTopicName string = eventTopic.name
