// The Log Analytics workspace, Application Insights on top of it, the workbook and the alerts.
param name string
param location string
param retentionDays int
param dailyCapGB int
param alertEmail string
param appPrincipalId string
@description('Principal id of the web app\'s identity. Empty: there is no web app, and no alerts about it.')
param webPrincipalId string
@description('Principal id of the second region\'s web app. Empty: there is none.')
param secondWebPrincipalId string

// learn.microsoft.com/azure/role-based-access-control/built-in-roles
var roles = {
  'Monitoring Metrics Publisher': '3913510d-42f4-4e42-8a64-420c390055eb'
}

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' = {
  name: '${name}-logs'
  location: location
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: retentionDays
    workspaceCapping: {
      dailyQuotaGb: dailyCapGB
    }
  }
}

resource appInsights 'Microsoft.Insights/components@2020-02-02' = {
  name: '${name}-insights'
  location: location
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspace.id
  }
}

// The role that Entra-authenticated ingestion requires.
resource publish 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(appInsights.id, appPrincipalId, roles['Monitoring Metrics Publisher'])
  scope: appInsights
  properties: {
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Monitoring Metrics Publisher']
    )
  }
}

resource webPublish 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in [webPrincipalId, secondWebPrincipalId]: if (!empty(principal)) {
    name: guid(appInsights.id, principal, roles['Monitoring Metrics Publisher'])
    scope: appInsights
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Monitoring Metrics Publisher']
      )
    }
  }
]

// The workbook queries the workspace's tables (AppRequests, AppMetrics, ...).
resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(workspace.id, 'workbook')
  location: location
  kind: 'shared'
  properties: {
    displayName: 'HibpIngest loads'
    category: 'workbook'
    sourceId: workspace.id
    serializedData: loadTextContent('../workbook.json')
  }
}

resource people 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(alertEmail)) {
  name: '${name}-people'
  location: 'Global'
  properties: {
    groupShortName: take(name, 12)
    enabled: true
    emailReceivers: [
      {
        name: 'people'
        emailAddress: alertEmail
        useCommonAlertSchema: true
      }
    ]
  }
}

// Each query returns rows only if there is something to report. The window must equal the time that the query
// looks back.
var alerts = [
  {
    name: 'poison-queue'
    ofWeb: false
    title: 'A poison queue is not empty'
    severity: 2
    window: 'PT15M'
    query: loadTextContent('../alerts/poison-queue.kql')
  }
  {
    name: 'load-not-moving'
    ofWeb: false
    title: 'A load has not moved for 15 minutes'
    severity: 2
    window: 'P1D'
    query: loadTextContent('../alerts/load-not-moving.kql')
  }
  {
    name: 'failure-rate'
    ofWeb: false
    title: 'More than one in ten tries fails'
    severity: 1
    window: 'PT15M'
    query: loadTextContent('../alerts/failure-rate.kql')
  }
  {
    name: 'oldest-call'
    ofWeb: false
    title: 'A call to a client has been waiting for an hour'
    severity: 2
    window: 'PT15M'
    query: loadTextContent('../alerts/oldest-call.kql')
  }
  {
    name: 'web-failure-rate'
    ofWeb: true
    title: 'More than one in twenty requests of the API fails'
    severity: 1
    window: 'PT15M'
    query: loadTextContent('../alerts/web-failure-rate.kql')
  }
  {
    name: 'web-latency'
    ofWeb: true
    title: 'The API takes more than a second'
    severity: 2
    window: 'PT15M'
    query: loadTextContent('../alerts/web-latency.kql')
  }
]

resource alert 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for rule in alerts: if (!rule.ofWeb || !empty(webPrincipalId)) {
    name: '${name}-${rule.name}'
    location: location
    kind: 'LogAlert'
    properties: {
      displayName: 'HibpIngest: ${rule.title}'
      severity: rule.severity
      enabled: true
      scopes: [workspace.id]
      evaluationFrequency: 'PT5M'
      windowSize: rule.window
      // The tables may not exist until the first telemetry arrives.
      skipQueryValidation: true
      criteria: {
        allOf: [
          {
            query: rule.query
            timeAggregation: 'Count'
            operator: 'GreaterThan'
            threshold: 0
            failingPeriods: {
              numberOfEvaluationPeriods: 1
              minFailingPeriodsToAlert: 1
            }
          }
        ]
      }
      autoMitigate: true
      actions: {
        actionGroups: empty(alertEmail) ? [] : [people.id]
      }
    }
  }
]

output workbookId string = workbook.id
output connection string = appInsights.properties.ConnectionString
