const ENGLISH =
  "accountant|actor|actress|analyst|architect|artist|attorney|baker|banker|barber|barista|bartender|biologist|builder|butcher|carer|caregiver|carpenter|cashier|chef|chemist|clerk|cleaner|coach|consultant|cook|counsel(?:l)?or|dad|dancer|data scientist|dentist|designer|developer|dietitian|director|doctor|driver|economist|editor|electrician|engineer|farmer|filmmaker|firefighter|fisherman|florist|freelancer|gardener|geologist|graduate|guard|hairdresser|historian|housewife|illustrator|instructor|intern|interpreter|journalist|judge|lawyer|lecturer|librarian|linguist|machinist|manager|mathematician|mechanic|midwife|mom|mum|musician|nanny|novelist|nurse|nutritionist|officer|optician|painter|paralegal|paramedic|pastor|pediatrician|pharmacist|photographer|physician|physicist|physiotherapist|pianist|pilot|plumber|policeman|policewoman|postdoc|priest|producer|professor|programmer|psychiatrist|psychologist|realtor|receptionist|recruiter|researcher|sailor|salesman|saleswoman|salesperson|scientist|secretary|singer|sociologist|soldier|student|surgeon|surveyor|tailor|teacher|technician|therapist|trainer|translator|tutor|vet|veterinarian|waiter|waitress|welder|writer";

/** An English occupation with up to three words before it, as in "a primary school teacher". */
export const OCCUPATION = `an? (?:(?!(?:pretty|very|really|rather|fairly|cautious|careful|safe|nervous|avid|keen|amateur|passionate|decent|lousy|excellent|new|visual|frequent|hopeless|hobby|home|self-taught|quick|heavy|good|bad|big|great|terrible|born|better|real|doctor|natural|slow|fast|morning|huge)\\b)[\\w-]+ ){0,3}(?:${ENGLISH})`;

/** Ends of Chinese occupations, looked for at the end of a phrase. */
export const CHINESE_OCCUPATION =
  /(?:程序员|工程师|设计师|教师|老师|律师|医师|厨师|会计师?|摄影师|咨询师|理发师|药剂师|分析师|建筑师|心理师|医生|护士|警察|军人|司机|经理|总监|主管|产品经理|研究员|公务员|服务员|销售员?|售货员|快递员|飞行员|演员|运动员|教练|记者|编辑|作家|画家|歌手|音乐人|翻译|农民|工人|秘书|教授|讲师|学者|科学家|学生|大学生|研究生|博士生?|高中生|初中生|实习生|全职妈妈|家庭主妇|自由职业者?|个体户|创业者|保安|导游|主播|牙医|兽医|电工|木匠|店员|店长|程序猿|码农|前端|后端|运营|人事)$/u;

/** Lines of work that are named instead of an occupation. */
export const FIELD =
  "accounting|advertising|agriculture|animation|architecture|banking|biotech|construction|consulting|customer (?:service|support)|cyber ?security|data science|design|education|engineering|fashion|film|finance|gaming|government|health ?care|hospitality|hr|human resources|insurance|it|journalism|law|logistics|manufacturing|marketing|media|medicine|music|publishing|real estate|recruit(?:ing|ment)|research|retail|robotics|sales|software(?: development)?|tech|telecoms?|tourism|transport";
